import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { wrapped } from '../../src/core/text/text.ts';
import { runHere } from '../support/run-here.ts';
import { escaped } from './svg.ts';

/** A terminal with 108 columns that shows the output of `policy explain`, dark on every page. */
const MESSAGE = 'Write a function in Rust that parses a date';
const KEYS = ['OPENAI', 'ANTHROPIC', 'GEMINI'].map((name) => [`${name}_API_KEY`, 'x']);
const COLUMNS = 108;
const ADVANCE = 7.3;
const LINE_HEIGHT = 18;

export async function explainPicture(): Promise<string> {
  const home = mkdtempSync(join(tmpdir(), 'signalbox-picture-'));
  try {
    const folder = join(import.meta.dir, '../../policies');
    const args = ['explain', '--message', MESSAGE, '--time', '2026-11-20T08:00:00Z', folder];
    const { out, err, code } = await runHere(
      ['policy', ...args, '--policies', folder, '--data', home],
      Object.fromEntries(KEYS),
    );
    if (code !== 0) throw new Error(`policy explain: ${err || out}`);
    return terminal([
      `$ ./signalbox policy explain --message '${MESSAGE}'`,
      ...out
        .trimEnd()
        .split('\n')
        .flatMap((line) => wrapped(line, COLUMNS)),
    ]);
  } finally {
    rmSync(home, { recursive: true });
  }
}

function terminal(lines: readonly string[]): string {
  const width = Math.ceil(COLUMNS * ADVANCE) + 40;
  const height = lines.length * LINE_HEIGHT + 62;
  const row = (line: string, at: number) =>
    `<text x="20" y="${56 + at * LINE_HEIGHT}" xml:space="preserve"${at === 0 ? ' fill="#7ee787"' : ''}>${escaped(line)}</text>`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, DejaVu Sans Mono, monospace" font-size="12" fill="#e6edf3" role="img">
<title>policy explain in a terminal</title>
<rect x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="10" fill="#0d1117" stroke="#3d444d"/>
<circle cx="22" cy="20" r="6" fill="#ff7b72"/><circle cx="42" cy="20" r="6" fill="#f2cc60"/><circle cx="62" cy="20" r="6" fill="#7ee787"/>
${lines.map(row).join('\n')}
</svg>
`;
}
