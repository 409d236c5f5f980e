/* What the engines find in a generated module, for the type checker. */
type Dtype = import('../src/types.ts').Dtype;
type Engine = import('../src/types.ts').Engine;
type Found = import('../src/types.ts').Found;
type Layout = import('../src/types.ts').Layout;
type Move = import('../src/types.ts').Move;
type Placed = import('../src/types.ts').Placed;
type Program = import('../src/types.ts').Program;
type TypedArray = import('../src/types.ts').TypedArray;

declare function wk_half(bits: number): number;
declare function wk_to_half(value: number): number;
