import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { rowsOf, type TomlFile } from './catalog/models-dev.ts';

/**
 * `npm run facts -- CLONE`: writes `src/policy/models/facts.json`, the public models of the shipped presets, from a clone of
 * github.com/anomalyco/models.dev. `--commit REVISION` reads another commit than HEAD. `--out FILE` writes another file.
 */
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    commit: { type: 'string', default: 'HEAD' },
    out: { type: 'string', default: join(import.meta.dir, '../src/policy/models/facts.json') },
  },
});
const [clone, ...rest] = positionals;
if (clone === undefined || rest.length > 0) {
  console.error('npm run facts takes one folder: a clone of https://github.com/anomalyco/models.dev');
  process.exit(1);
}

function git(args: readonly string[], input = ''): string {
  const { success, stdout, stderr } = Bun.spawnSync(['git', '-C', `${clone}`, ...args], { stdin: Buffer.from(input) });
  if (!success) {
    console.error(stderr.toString().trim());
    process.exit(1);
  }
  return stdout.toString();
}

const commit = git(['rev-parse', '--verify', `${values.commit}^{commit}`]).trim();
const asOf = new Date(Number(git(['show', '-s', '--format=%ct', commit])) * 1000).toISOString().slice(0, 10);
const files = git(['ls-tree', '-r', commit, 'models', 'providers'])
  .split('\n')
  .flatMap((line): TomlFile[] => {
    const [, blob, path] = /^100\d+ blob (\w+)\t(.*\.toml)$/.exec(line) ?? [];
    return blob && path ? [{ path, data: blob }] : [];
  });
const texts = blobsOf(files.map(({ data }) => String(data)));
const { models, moving } = rowsOf(files.map(({ path }, at) => ({ path, data: Bun.TOML.parse(texts[at] ?? '') })));

writeFileSync(values.out, textOf({ source: 'anomalyco/models.dev', commit, as_of: asOf, licence: licence() }));
const counts = Object.entries(models).map(([preset, rows]) => `${preset} ${Object.keys(rows).length}`);
console.log(`${values.out}: models.dev ${commit.slice(0, 8)} of ${asOf}: ${counts.join(', ')}`);

/** Reads the texts of blobs with one call of git. */
function blobsOf(names: readonly string[]): string[] {
  const all = Buffer.from(git(['cat-file', '--batch'], names.join('\n')));
  const found: string[] = [];
  for (let at = 0; at < all.length; ) {
    const end = all.indexOf('\n', at);
    const size = Number(all.toString('utf8', at, end).split(' ')[2]);
    found.push(all.toString('utf8', end + 1, end + 1 + size));
    at = end + size + 2;
  }
  return found;
}

/** Returns the licence of models.dev, which must accompany every copy. */
function licence(): string {
  return git(['show', `${commit}:LICENSE`])
    .trim()
    .replace(/\s+/g, ' ');
}

/** Writes a line for each model, so that a diff shows which models changed. */
function textOf(head: Readonly<Record<string, string>>): string {
  const tableOf = (byPreset: typeof models): string => {
    const presets = Object.entries(byPreset).map(([preset, rows]) => {
      const lines = Object.entries(rows).map(([id, row]) => `${JSON.stringify(id)}:${JSON.stringify(row)}`);
      return `${JSON.stringify(preset)}:{\n${lines.join(',\n')}}`;
    });
    return `{\n${presets.join(',\n')}}`;
  };
  return `${JSON.stringify(head).slice(0, -1)},"models":${tableOf(models)},"moving":${tableOf(moving)}}\n`;
}
