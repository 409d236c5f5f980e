/**
 * @typedef {object} Linked
 * @property {WebGLProgram} program
 * @property {WebGLUniformLocation | null} args
 * @property {WebGLUniformLocation | null} first
 */

/** One triangle that covers the viewport. */
const VERTEX = `#version 300 es
void main() { gl_Position = vec4(gl_VertexID == 1 ? 3 : -1, gl_VertexID == 2 ? 3 : -1, 0, 1); }
`;

const POLL_MS = 4;

/**
 * @param {string} code
 * @param {string} message
 */
export const webglError = (code, message) => Object.assign(new Error(message), { code });

/** @param {WebGL2RenderingContext} gl */
export function checkContext(gl) {
  if (gl.isContextLost())
    throw webglError(
      'ContextLost',
      'the WebGL context was lost; dispose of the model and load it again',
    );
}

/**
 * Report the WebGL error since the last call. The call waits for all pending commands.
 * @param {WebGL2RenderingContext} gl
 */
export function checkError(gl) {
  const error = gl.getError();
  checkContext(gl);
  if (error === gl.OUT_OF_MEMORY)
    throw webglError('OutOfMemory', 'the textures of this model could not be allocated');
  if (error) throw new Error(`WebGL error ${error}`);
}

/**
 * @param {WebGL2RenderingContext} gl
 * @param {number} type
 * @param {string} text
 */
function startCompilation(gl, type, text) {
  const shader = /** @type {WebGLShader} */ (gl.createShader(type));
  gl.shaderSource(shader, text);
  gl.compileShader(shader);
  return shader;
}

/**
 * Compile all fragment shaders in parallel and wait for them.
 * @param {WebGL2RenderingContext} gl
 * @param {string[]} texts
 * @param {string} defines preprocessor lines, inserted after the version directive
 * @param {Map<string, Linked>} linked receives each program, by the text of its shader
 */
export async function linkPrograms(gl, texts, defines, linked) {
  const vertex = startCompilation(gl, gl.VERTEX_SHADER, VERTEX);
  const pending = texts.map(text => {
    const fragment = startCompilation(gl, gl.FRAGMENT_SHADER, text.replace('\n', `\n${defines}`));
    const program = gl.createProgram();
    gl.attachShader(program, vertex);
    gl.attachShader(program, fragment);
    gl.linkProgram(program);
    return { text, fragment, program };
  });
  const parallel = gl.getExtension('KHR_parallel_shader_compile');
  for (const { text, fragment, program } of pending) {
    while (
      parallel &&
      !gl.isContextLost() &&
      !gl.getProgramParameter(program, parallel.COMPLETION_STATUS_KHR)
    ) {
      await new Promise(resolve => {
        setTimeout(resolve, POLL_MS);
      });
    }
    checkContext(gl);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS)) {
      const log = gl.getShaderInfoLog(fragment) || gl.getProgramInfoLog(program);
      throw webglError('CompileFailed', `a shader does not compile (${log})`);
    }
    gl.deleteShader(fragment);
    gl.useProgram(program);
    const samplers = gl.getParameter(gl.MAX_TEXTURE_IMAGE_UNITS);
    for (let unit = 0; unit < samplers; unit++)
      gl.uniform1i(gl.getUniformLocation(program, `x${unit}`), unit);
    linked.set(text, {
      program,
      args: gl.getUniformLocation(program, 'P'),
      first: gl.getUniformLocation(program, 'first'),
    });
  }
  gl.deleteShader(vertex);
}
