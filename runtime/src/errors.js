/**
 * @typedef {'MissingFile' | 'WrongType' | 'Truncated' | 'Altered' | 'CompileFailed' | 'UnknownBackend' | 'UnknownVariant'
 *   | 'NoBackend' | 'UnknownInput' | 'MissingInput' | 'WrongLength' | 'WrongDtype' | 'WrongOption' | 'UnknownPlaceholder'
 *   | 'MissingPlaceholder' | 'WrongSize' | 'OutOfMemory'
 *   | 'Trapped' | 'Aborted' | 'Disposed'} ErrorCode
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
export const messageOf = error => error instanceof Error ? error.message : String(error);

/**
 * @param {string} what
 * @returns {WebkilnError}
 */
export const abortedError = what => new WebkilnError('Aborted', `${what} was aborted by its signal`);
