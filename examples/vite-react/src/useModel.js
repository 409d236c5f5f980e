import { useEffect, useState } from 'react';

/**
 * Loads a model for as long as the component is shown.
 * @template {{ dispose(): void }} Model
 * @param {(options: { signal: AbortSignal }) => Promise<Model>} load that of the model, or a function of yours that does not change
 * @returns {{ model?: Model, error?: Error }} one of both, once it is known
 */
export function useModel(load) {
  const [state, setState] = useState(/** @type {{ model?: Model, error?: Error }} */ ({}));
  useEffect(() => {
    const abort = new AbortController();
    const loading = load({ signal: abort.signal });
    loading.then(model => abort.signal.aborted || setState({ model }), error => abort.signal.aborted || setState({ error }));
    return () => {
      abort.abort();
      setState({});
      loading.then(model => model.dispose(), () => {});
    };
  }, [load]);
  return state;
}
