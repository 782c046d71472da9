/** Parses CSV according to RFC 4180. Throws if a line has a different number of cells than the first line. */
export function readCsv(text: string): Record<string, string>[] {
  const rows: string[][] = [];
  let cells: string[] = [];
  for (let at = 0; at < text.length; ) {
    const match = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/y;
    match.lastIndex = at;
    const found = match.exec(text);
    if (!found) throw new Error(`no CSV from ${JSON.stringify(text.slice(at, at + 50))} on`);
    const [whole, quoted, plain = '', end] = found;
    cells.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'));
    if (end === '\r\n') {
      rows.push(cells);
      cells = [];
    }
    at += whole.length;
  }
  const [names = [], ...lines] = rows;
  return lines.map((line) => {
    if (line.length !== names.length) throw new Error(`a line has ${line.length} cells, not ${names.length}`);
    return Object.fromEntries(names.map((name, i) => [name, line[i]!]));
  });
}

/** A fraction, for exact arithmetic. */
export type Fraction = readonly [numerator: bigint, denominator: bigint];

export function fraction(decimal: string): Fraction {
  const [, sign, whole, digits = ''] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(decimal) ?? [];
  if (whole === undefined) throw new Error(`no decimal: ${JSON.stringify(decimal)}`);
  return [BigInt(`${sign}${whole}${digits}`), 10n ** BigInt(digits.length)];
}

/** Converts a decimal number of Credits to microcredits. */
export function micro(decimal: string): bigint {
  const [numerator, denominator] = fraction(decimal);
  const amount = numerator * 1_000_000n;
  if (amount % denominator !== 0n) throw new Error(`more than 6 decimals: ${decimal}`);
  return amount / denominator;
}

/** Computes the cost of an exported line from its tokens and prices only, in microcredits, rounded up once. */
export function recomputed(line: Readonly<Record<string, string>>): bigint {
  const units = Object.keys(line).flatMap((name) => /^usd_per_1m_(\w+)$/.exec(name)?.[1] ?? []);
  const count = (unit: string) => BigInt(line[`${unit}_tokens`]!);
  const left = (whole: string, ofWhole: (unit: string) => boolean) =>
    units.filter((unit) => unit !== whole && ofWhole(unit)).reduce((rest, unit) => rest - count(unit), count(whole));
  const isOutput = (unit: string) => unit.endsWith('output');
  const amounts: Readonly<Record<string, bigint>> = {
    input: left('input', (unit) => !isOutput(unit)),
    output: left('output', isOutput),
  };
  const parts: [bigint, string][] = [
    ...units.map((unit): [bigint, string] => [amounts[unit] ?? count(unit), `usd_per_1m_${unit}`]),
    [1_000_000n, 'usd_per_request'],
  ];
  if (line.usd_tool_uses) parts.push([1_000_000n, 'usd_tool_uses']);
  let sum: Fraction = [0n, 1n];
  for (const [times, price] of parts) {
    const [numerator, denominator] = fraction(line[price]!);
    sum = [sum[0] * denominator + times * numerator * sum[1], sum[1] * denominator];
  }
  // Millionths of a USD divided by USD per Credit are microcredits.
  const [worth, over] = fraction(line.usd_per_credit!);
  const numerator = sum[0] * over;
  const denominator = sum[1] * worth;
  return (numerator + denominator - 1n) / denominator;
}
