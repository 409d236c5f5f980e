NAME = "wasm"
