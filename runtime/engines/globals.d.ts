/* Names of the generated module that contains an engine, for the type checker. */
type Dtype = import('../src/types.ts').Dtype;
type Engine = import('../src/engine.ts').Engine;
type RunSizes = import('../src/engine.ts').RunSizes;
type Layout = import('../src/engine.ts').Layout;
type Move = import('../src/engine.ts').Move;
type PlacedTensor = import('../src/engine.ts').PlacedTensor;
type Program = import('../src/engine.ts').Program;
type TypedArray = import('../src/types.ts').TypedArray;

declare function wk_half(bits: number): number;
declare function wk_to_half(value: number): number;
