/**
 * @typedef {'MissingFile' | 'Refused' | 'Unavailable' | 'Stalled' | 'WrongType' | 'Truncated'
 *   | 'Altered' | 'NoImport' | 'CompileFailed' | 'UnknownBackend' | 'UnknownVariant' | 'NoBackend'
 *   | 'UnknownInput' | 'MissingInput' | 'WrongLength' | 'WrongDtype' | 'WrongOption'
 *   | 'WrongBuffer' | 'UnknownPlaceholder' | 'MissingPlaceholder' | 'WrongSize' | 'WrongValue'
 *   | 'OutOfMemory' | 'DeviceLost' | 'ContextLost' | 'Tainted' | 'Trapped' | 'Aborted'
 *   | 'Disposed'} ErrorCode
 */

/** The only error class of the runtime. `code` is the kind; `message` includes what to do next. */
export class WebkilnError extends Error {
  /**
   * @param {ErrorCode} code
   * @param {string} message
   */
  constructor(code, message) {
    super(message);
    this.name = 'WebkilnError';
    this.code = code;
  }
}

/**
 * @param {unknown} error
 * @returns {string}
 */
export const messageOf = error => (error instanceof Error ? error.message : String(error));

/**
 * @param {string} what
 * @returns {WebkilnError}
 */
export const abortedError = what =>
  new WebkilnError('Aborted', `${what} was aborted by its signal`);

/** Codes of errors that end a model; it must be loaded again. @type {Set<unknown>} */
export const FATAL = new Set(['Trapped', 'DeviceLost', 'ContextLost']);

/** Codes that engines, which do not import this module, set on their errors. */
const ENGINE_CODES = new Set([
  ...FATAL,
  'OutOfMemory',
  'WrongValue',
  'WrongBuffer',
  'WrongOption',
  'CompileFailed',
  'NoBackend',
]);

/**
 * Convert an error of an engine, which has a `code`, to a WebkilnError; null if it has no code.
 * @param {any} error
 * @returns {WebkilnError | null}
 */
export const knownError = error =>
  error instanceof WebkilnError
    ? error
    : ENGINE_CODES.has(error?.code)
      ? new WebkilnError(error.code, error.message)
      : null;
