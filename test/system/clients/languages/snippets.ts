/**
 * The program of a page's block: the page's first block up to the blank line after its client, then the block. The first block is
 * a program by itself.
 * @param end what closes the program after the block, such as a brace
 */
export function programWith(first: string, block: string, end: string): string {
  const client = first.search(/\bclient\b.*=/);
  const after = first.indexOf('\n\n', client);
  if (client < 0 || after < 0)
    throw new Error(`The page's first block has no client with a blank line after it:\n${first}`);
  return `${first.slice(0, after)}\n${block}\n${end}\n`;
}
