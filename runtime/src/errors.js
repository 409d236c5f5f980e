/**
 * @typedef {'MissingFile' | 'Refused' | 'Unavailable' | 'Stalled' | 'WrongType' | 'Truncated' | 'Altered' | 'CompileFailed' | 'UnknownBackend' | 'UnknownVariant'
 *   | 'NoBackend' | 'UnknownInput' | 'MissingInput' | 'WrongLength' | 'WrongDtype' | 'WrongOption' | 'WrongBuffer' | 'UnknownPlaceholder'
 *   | 'MissingPlaceholder' | 'WrongSize' | 'WrongValue' | 'OutOfMemory' | 'DeviceLost' | 'ContextLost'
 *   | 'Tainted' | 'Trapped' | 'Aborted' | 'Disposed'} ErrorCode
 */

/** The one error class of the runtime: `code` names the kind, `message` says what to do next. */
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

/** What ends a model: nothing but loading it again helps. @type {Set<unknown>} */
export const FATAL = new Set(['Trapped', 'DeviceLost', 'ContextLost']);

const TOLD = new Set([
  ...FATAL,
  'OutOfMemory',
  'WrongValue',
  'WrongBuffer',
  'WrongOption',
  'CompileFailed',
  'NoBackend',
]);

/**
 * The error of the runtime that this one is, or what an engine, which does not know that class, says by a `code`.
 * @param {any} error
 * @returns {WebkilnError | null}
 */
export const toldBy = error =>
  error instanceof WebkilnError
    ? error
    : TOLD.has(error?.code)
      ? new WebkilnError(error.code, error.message)
      : null;
