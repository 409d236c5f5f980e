export { load as again } from '../ziffern ä.keras?webkiln&backend=wasm,js';
