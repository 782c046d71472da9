/** Rooms that any web-standard runtime could load, and that give the same answer to the same question. */
export const PURE = [
  'src/core/',
  'src/contract/',
  'src/policy/',
  'src/routing/',
  'src/accounting/',
  'src/api/',
  'src/surface/',
  'plugins/',
];
