/* What the engines find in a generated module, for the type checker. */
type Dtype = import('../runtime/src/types.ts').Dtype;
type Engine = import('../runtime/src/types.ts').Engine;
type Found = import('../runtime/src/types.ts').Found;
type Layout = import('../runtime/src/types.ts').Layout;
type Move = import('../runtime/src/types.ts').Move;
type Placed = import('../runtime/src/types.ts').Placed;
type Program = import('../runtime/src/types.ts').Program;
type TypedArray = import('../runtime/src/types.ts').TypedArray;

declare function wk_half(bits: number): number;
declare function wk_to_half(value: number): number;
