/** Folders that any web-standard runtime can load, and that give the same answer to the same question. */
export const PURE = ['src/core/', 'src/contract/', 'src/policy/', 'src/routing/', 'src/dialects/', 'plugins/'];

/** The part of a pure folder that reads files and has a clock. */
export const NOT_PURE = 'src/policy/runtime/';
