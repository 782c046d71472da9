/** Returns the difficulty of a prompt according to its length: the logarithm of its number of words, numbers and signs. */
export const lengthOf = (prompt: string): number => Math.log1p(prompt.match(/[a-z]+|\d+|[^\sa-z\d]/gi)?.length ?? 0);
