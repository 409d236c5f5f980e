import { manifest as tiny } from './tiny.onnx?webkiln&backend=js&plugin=../handlers.py&operators=../operators.py&reads=../notes';
import { manifest as built } from 'webkiln:mine:model?backend=js&parameter=units=3';
import { manifest as lambda } from './lambda.keras?webkiln&backend=js&trust-source';

document.title = JSON.stringify(
  [tiny, built, lambda].map(({ outputs }) => outputs[0].shape.at(-1)),
);
