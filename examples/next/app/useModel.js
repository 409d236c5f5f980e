import { useEffect, useState } from 'react';

/**
 * Load a model while the component is mounted.
 * @template {{ dispose(): void }} Model
 * @param {(options: { signal: AbortSignal }) => Promise<Model>} load the model's `load`, or a
 *   function that does not change between renders
 * @returns {{ model?: Model, error?: Error }} empty while loading
 */
export function useModel(load) {
  const [state, setState] = useState(/** @type {{ model?: Model, error?: Error }} */ ({}));
  useEffect(() => {
    const abort = new AbortController();
    const loading = load({ signal: abort.signal });
    loading.then(
      model => abort.signal.aborted || setState({ model }),
      error => abort.signal.aborted || setState({ error }),
    );
    return () => {
      abort.abort();
      setState({});
      loading.then(
        model => model.dispose(),
        () => {},
      );
    };
  }, [load]);
  return state;
}
