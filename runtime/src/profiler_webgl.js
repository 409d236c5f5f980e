/** @import { Profiler, Timer } from './profiler.js' */
import { measurePeak, tickMs } from './profiler_cpu.js';
import { stepOf } from './profiler_webgpu.js';

const TIME_ELAPSED = 0x88bf;
const GPU_DISJOINT = 0x8fbb;
const POLL_MS = 2;
const SIDE = 256;
/** Operations per iteration: a multiply-add of four vectors of four numbers in each fragment. */
const DRAWN = SIDE * SIDE * 4 * 8;

const CORNERS = `#version 300 es
void main() { gl_Position = vec4(gl_VertexID == 1 ? 3 : -1, gl_VertexID == 2 ? 3 : -1, 0, 1); }`;
const FRAGMENT = `#version 300 es
precision highp float; uniform int iterations; out vec4 y;
void main() {
vec4 x = vec4(0.999), z = vec4(0.001), a = gl_FragCoord, b = a + z, c = b + z, d = c + z;
for (int i = 0; i < iterations; i++) { a = a * x + z; b = b * x + z; c = c * x + z; d = d * x + z; }
y = a + b + c + d; }`;

/**
 * Create a framebuffer with a square texture.
 * @param {WebGL2RenderingContext} gl
 * @param {number} side
 */
function square(gl, side) {
  const texture = gl.createTexture(),
    framebuffer = gl.createFramebuffer();
  gl.bindTexture(gl.TEXTURE_2D, texture);
  gl.texStorage2D(gl.TEXTURE_2D, 1, gl.RGBA32F, side, side);
  gl.bindFramebuffer(gl.FRAMEBUFFER, framebuffer);
  gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D, texture, 0);
  return {
    framebuffer,
    end: () => {
      gl.deleteFramebuffer(framebuffer);
      gl.deleteTexture(texture);
    },
  };
}

/**
 * The peak of multiply-adds in fragments.
 * @param {WebGL2RenderingContext} gl
 * @param {() => void} finish
 */
async function peakOfFragments(gl, finish) {
  const program = gl.createProgram();
  for (const [type, text] of /** @type {[number, string][]} */ ([
    [gl.VERTEX_SHADER, CORNERS],
    [gl.FRAGMENT_SHADER, FRAGMENT],
  ])) {
    const shader = /** @type {WebGLShader} */ (gl.createShader(type));
    gl.shaderSource(shader, text);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
    gl.deleteShader(shader);
  }
  gl.linkProgram(program);
  gl.useProgram(program);
  const location = gl.getUniformLocation(program, 'iterations');
  const { framebuffer, end } = square(gl, SIDE);
  const best = await measurePeak(iterations => {
    gl.bindFramebuffer(gl.DRAW_FRAMEBUFFER, framebuffer);
    gl.viewport(0, 0, SIDE, SIDE);
    gl.uniform1i(location, iterations);
    gl.drawArrays(gl.TRIANGLES, 0, 3);
    finish();
  }, DRAWN);
  end();
  gl.deleteProgram(program);
  return best;
}

/**
 * Time the draws of a program: with timer queries if WebGL supports them, else by waiting for each
 * draw.
 * @param {any} engine a `WebGlEngine`
 * @param {Profiler} profiler
 * @returns {Timer}
 */
export function timeDraws(engine, profiler) {
  /** @type {WebGL2RenderingContext} */
  const gl = engine.gl;
  const queries = Boolean(gl.getExtension('EXT_disjoint_timer_query_webgl2'));
  const pixel = new Float32Array(4),
    own = square(gl, 1);
  const run = engine.run.bind(engine),
    host = engine.host.bind(engine);
  const steps = new Set();
  /** @type {{ site: number, ms: number | null, query: WebGLQuery | null }[]} */
  let pending = [];
  /** @type {number | null} */
  let called = null;
  /** @type {WebGLQuery | null} */
  let query = null;
  let last = 0;

  // Reading a pixel waits for all draws; `gl.finish` does not in some browsers.
  const finish = () => {
    gl.bindFramebuffer(gl.READ_FRAMEBUFFER, own.framebuffer);
    gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.FLOAT, pixel);
  };
  const start = () => {
    if (queries) gl.beginQuery(TIME_ELAPSED, (query = gl.createQuery()));
    else last = performance.now();
  };
  engine.host = (/** @type {any[]} */ ...operands) => {
    finish();
    const begin = performance.now();
    const size = host(...operands);
    called = performance.now() - begin;
    return size;
  };
  engine.mark = (/** @type {number} */ site) => {
    if (queries) gl.endQuery(TIME_ELAPSED);
    else finish();
    pending.push({ site, ms: called ?? (queries ? null : performance.now() - last), query });
    called = null;
    start();
  };

  /** Add the times to the profiler when the queries are available. */
  async function collect() {
    let start = 0;
    for (const { site, ms, query } of pending) {
      while (
        query &&
        !gl.isContextLost() &&
        !gl.getQueryParameter(query, gl.QUERY_RESULT_AVAILABLE)
      ) {
        await new Promise(resolve => {
          setTimeout(resolve, POLL_MS);
        });
      }
      const nanoseconds = query ? Number(gl.getQueryParameter(query, gl.QUERY_RESULT)) : 0;
      const duration = ms ?? nanoseconds / 1e6;
      if (ms === null) steps.add(nanoseconds);
      profiler.add(site, start, duration);
      start += duration;
      gl.deleteQuery(query);
    }
  }

  return {
    clock: queries
      ? 'timer queries of WebGL'
      : 'a wait for each draw, since WebGL has no timer queries here',
    resolutionMs: () => (queries ? stepOf(steps) : tickMs()),
    peakGflops: () => peakOfFragments(gl, finish),
    run: async (...placeholders) => {
      pending = [];
      finish();
      start();
      const sizes = await run(...placeholders);
      if (queries) gl.endQuery(TIME_ELAPSED);
      gl.deleteQuery(query);
      await collect();
      if (queries && gl.getParameter(GPU_DISJOINT)) profiler.discard();
      return sizes;
    },
  };
}
