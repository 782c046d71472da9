/**
 * Builds the program for a block of a page: the first block of the page up to the blank line after its client, then the block. The first
 * block is a complete program.
 * @param end the text that closes the program after the block, such as a brace
 */
export function programWith(first: string, block: string, end: string): string {
  const client = first.search(/\bclient\b.*=/);
  const after = first.indexOf('\n\n', client);
  if (client < 0 || after < 0)
    throw new Error(`The page's first block has no client with a blank line after it:\n${first}`);
  return `${first.slice(0, after)}\n${block}\n${end}\n`;
}
