/** Folders that any runtime with web standards can load, and whose functions return the same result for the same input. */
export const PURE = ['src/core/', 'src/contract/', 'src/policy/', 'src/routing/', 'src/dialects/', 'plugins/'];

/** The part of a pure folder that reads files and uses a clock. */
export const NOT_PURE = 'src/policy/runtime/';
