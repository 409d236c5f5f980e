import { counted, failure, replaced, runScenarios } from './scenarios.mjs';

const CONTEXT = WebGL2RenderingContext.prototype;
const LOCAL = { backends: ['webgl'], worker: false };

/** Load with a canvas whose context `change` may modify or replace. */
function withContext(change, action) {
  const { getContext } = HTMLCanvasElement.prototype;
  return replaced(
    HTMLCanvasElement.prototype,
    'getContext',
    function (...values) {
      return change(getContext.apply(this, values));
    },
    action,
  );
}

/** Limit textures to `size` texels per side and to `layers` while `action` runs. */
function narrowTextures(size, layers, action) {
  const { getParameter } = CONTEXT;
  return replaced(
    CONTEXT,
    'getParameter',
    function (name) {
      return name === this.MAX_TEXTURE_SIZE
        ? size
        : name === this.MAX_ARRAY_TEXTURE_LAYERS
          ? layers
          : getParameter.call(this, name);
    },
    action,
  );
}

const SCENARIOS = {
  async lost({ load, manifest }, input) {
    let context;
    const model = await withContext(
      found => (context = found),
      () => load(LOCAL),
    );
    const first = await model.run(input);
    context.getExtension('WEBGL_lose_context').loseContext();
    const errors = [await failure(model.run(input)), await failure(model.run(input))];
    model.dispose();
    const reloaded = await load(LOCAL);
    const second = await reloaded.run(input);
    reloaded.dispose();
    const { name } = manifest.outputs[0];
    return { errors, same: first[name].every((value, at) => value === second[name][at]) };
  },

  absent({ load }) {
    return withContext(
      () => null,
      async () => {
        const alone = await failure(load(LOCAL));
        const model = await load({ backends: ['webgl', 'js'], worker: false });
        model.dispose();
        return { alone, backend: model.backend, failures: model.failures };
      },
    );
  },

  unrenderable({ load }) {
    return replaced(
      CONTEXT,
      'getExtension',
      () => null,
      () => failure(load(LOCAL)),
    );
  },

  async narrow({ load, manifest }, input) {
    const { name } = manifest.outputs[0];
    const results = [];
    for (const size of [16, 256, 8192]) {
      const model = await narrowTextures(size, 256, () => load(LOCAL));
      results.push([...(await model.run(input))[name]]);
      model.dispose();
    }
    return results;
  },

  small({ load }) {
    return narrowTextures(64, 1, () => failure(load(LOCAL)));
  },

  async worker({ load }, input) {
    const model = await load({ backends: ['webgl'] });
    await model.run(input);
    model.dispose();
    return model.worker;
  },

  counted({ load }, input) {
    const methods = ['Texture', 'Framebuffer', 'Program'].flatMap(what => [
      [CONTEXT, `create${what}`, 'created'],
      [CONTEXT, `delete${what}`, 'deleted'],
    ]);
    return counted(
      [...methods, [CONTEXT, 'drawArrays', 'draws'], [CONTEXT, 'readPixels', 'reads']],
      async counts => {
        const model = await load(LOCAL);
        await model.run(input);
        const { draws, reads } = counts;
        await model.run(input);
        const run = { draws: counts.draws - draws, reads: counts.reads - reads };
        model.dispose();
        return { run, created: counts.created, deleted: counts.deleted };
      },
    );
  },
};

export const runSets = runScenarios(SCENARIOS, () => {});
