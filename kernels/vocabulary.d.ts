declare function wk_half(bits: number): number;
declare function wk_to_half(value: number): number;
