import { createApp, h, ref, watch } from 'vue';
import { load, top } from 'webkiln:digits?backend=wasm,js';
import { useModel } from './useModel.js';

const pixels = Float32Array.from(
  '000afb10005f9f4002e9081005f8100008ff800002f9f60000aff7000018c000',
  digit => parseInt(digit, 16) / 15,
);

const Digits = {
  setup() {
    const { model, error } = useModel(load);
    const scores = ref([]);
    watch(model, async loaded => {
      scores.value = Array.from((await loaded.run(pixels)).scores);
    });
    return () => [
      h('output', { value: scores.value.length ? top(scores.value)[0].label : '' }),
      h(
        'ol',
        scores.value.map(score => h('li', h('meter', { value: score }))),
      ),
      h(
        'p',
        error.value?.message ??
          (model.value
            ? [
                model.value.backend,
                model.value.variant,
                model.value.worker ? 'in a Worker' : '',
              ].join(', ')
            : 'Loading'),
      ),
    ];
  },
};

const shown = ref(true);
createApp({ setup: () => () => (shown.value ? h(Digits) : null) }).mount('#app');
window.leave = () => {
  shown.value = false;
};
