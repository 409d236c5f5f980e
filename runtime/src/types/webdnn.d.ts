/* eslint-disable */
export declare class WebkilnError extends Error {
  readonly code: string;
}
export interface SymbolicTypedArray {
  readonly name: string;
  readonly dtype: string;
  readonly shape: number[];
  readonly order: string;
  readonly length: number;
  toActual(): any;
  set(array: ArrayLike<any>, offset?: number): void;
}
type Views = SymbolicTypedArray[] & { [name: string]: any };
export interface DescriptorRunner {
  readonly backendName: string;
  readonly descriptor: any;
  readonly inputs: Views;
  readonly outputs: Views;
  readonly running: boolean;
  getInputViews(): Views;
  getOutputViews(): Views;
  run(): Promise<void>;
  setPlaceholderValue(values: Record<string, number>): Promise<void>;
  reset(): Promise<void>;
  dispose(): void;
}
export interface InitOption {
  backendOrder?: string | string[];
  backendOptions?: Record<string, any>;
  cacheStrategy?: 'latest' | 'networkFirst' | 'cacheFirst' | 'networkOnly' | 'cacheOnly';
  saveCache?: boolean;
  ignoreCache?: boolean;
  stallTimeout?: number;
  progressCallback?: (loaded: number, total: number) => any;
  weightDirectory?: string;
  transformUrlDelegate?: (url: string) => string;
}
export declare function load(directory: string, options?: InitOption): Promise<DescriptorRunner>;
export declare function getBackendAvailability(): {
  status: Record<string, boolean>;
  defaultOrder: string[];
};
export declare function getConfiguration(key: string, otherwise?: any): any;
export declare function setConfiguration(key: string, value: any): void;
declare const image: {
  Color: Record<string | number, any>;
  Order: Record<string | number, any>;
  getImageArray(image: any, options?: object): Promise<any>;
  getImageArrayFromCanvas(canvas: any, options?: object): any;
  getImageArrayFromDrawable(drawable: any, options?: object): any;
  getImageArrayFromImageData(image: any, options?: object): any;
  loadImageByDialog(): Promise<any>;
  loadImageByUrl(url: string): Promise<any>;
  loadImageFromFileInput(input: any): Promise<any>;
  setImageArrayToCanvas(
    array: any,
    imageW: number,
    imageH: number,
    canvas: any,
    options?: object,
  ): void;
};
declare const math: {
  argmax(values: ArrayLike<number>, k?: number): number[];
  argmin(values: ArrayLike<number>, k?: number): number[];
};
declare const WebDNN: {
  load: typeof load;
  getBackendAvailability: typeof getBackendAvailability;
  getConfiguration: typeof getConfiguration;
  setConfiguration: typeof setConfiguration;
  WebkilnError: typeof WebkilnError;
  Image: typeof image;
  Math: typeof math;
};
export { image as Image, math as Math };
export default WebDNN;
