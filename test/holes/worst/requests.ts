/** Makes the body of a request with this many parts. */
export type Body = (parts: number) => object;

/** The worst bodies of a surface, by what they have many of. */
export type Bodies = Readonly<Record<string, Body>>;

export const list = <T>(parts: number, make: (at: number) => T): T[] =>
  Array.from({ length: parts }, (_, at) => make(at));

/** An object with this many members. */
export const members = <T>(parts: number, make: (at: number) => T, prefix = 'member'): Record<string, T> =>
  Object.fromEntries(list(parts, (at) => [`${prefix}${at}`, make(at)]));

export const PNG = 'data:image/png;base64,iVBORw0KGgo=';
