'use client';

import { useEffect } from 'react';
import { manifest } from '../src/tiny.onnx?webkiln&backend=js';

export default function Page() {
  useEffect(() => {
    document.title = JSON.stringify([manifest.outputs[0].shape.at(-1)]);
  }, []);
  return <p>{manifest.name}</p>;
}
