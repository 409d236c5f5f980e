/* Names of the generated module that contains an engine, for the type checker. */
type Dtype = import('../src/types.ts').Dtype;
type Engine = import('../src/types.ts').Engine;
type RunSizes = import('../src/types.ts').RunSizes;
type Layout = import('../src/types.ts').Layout;
type Move = import('../src/types.ts').Move;
type PlacedTensor = import('../src/types.ts').PlacedTensor;
type Program = import('../src/types.ts').Program;
type TypedArray = import('../src/types.ts').TypedArray;

declare function wk_half(bits: number): number;
declare function wk_to_half(value: number): number;
