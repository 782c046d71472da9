import { afterAll, expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { shipped } from '../../../plugins/index.ts';
import type { Sample } from '../../../src/tools/conformance/samples.ts';
import { examine } from '../../../src/tools/conformance/suite.ts';
import { host } from '../../../src/tools/plugin/gateway-parts.ts';
import { samplesBeside } from '../../../src/tools/plugin/samples.ts';
import { exampleGuard } from '../../../src/tools/plugin/templates/guard/index.ts';
import { exampleProvider } from '../../../src/tools/plugin/templates/provider/index.ts';
import { exampleStrategy } from '../../../src/tools/plugin/templates/strategy/index.ts';
import { effort } from '../../deep/effort.ts';

const { runs, seed, proved } = effort('conformance', 2, 500);

const RECORDED = join(import.meta.dir, '../../providers/fixtures');
/** The folders with recorded answers of each plugin. */
const FOLDERS: Readonly<Record<string, readonly string[]>> = {
  anthropic: ['anthropic'],
  gemini: ['gemini'],
  openai: ['openai-responses'],
  'openai-compatible': ['openai', 'openai-compatible'],
};

function recorded(name: string): Sample[] {
  return (FOLDERS[name] ?? []).flatMap((folder) =>
    readdirSync(join(RECORDED, folder))
      .filter((file) => /\.(?:sse|json)$/.test(file) && !/^(?:errors|replies)/.test(file))
      .map((file): Sample => {
        const text = readFileSync(join(RECORDED, folder, file), 'utf8');
        return { name: `${folder}/${file}`, kind: file.endsWith('.sse') ? 'stream' : 'reply', text, expect: null };
      }),
  );
}

const template = samplesBeside(join(import.meta.dir, '../../../src/tools/plugin/templates/provider'))[''] ?? [];

const kept: string[] = [];
afterAll(() => proved(`every law of \`signalbox plugin test\`, for ${kept.join(', ')}`));

test.each(
  [...shipped, exampleStrategy, exampleProvider, exampleGuard].map(
    (plugin) => [`${plugin.kind} ${plugin.name}`, plugin] as const,
  ),
)(`the %s keeps every law (seed ${seed})`, (name, plugin) => {
  const samples = plugin === exampleProvider ? template : recorded(plugin.name);
  const reports = [...examine(plugin, { host, samples }, { seed, runs })];
  expect(reports.filter(({ outcome }) => outcome === 'broken')).toEqual([]);
  expect(reports.length).toBeGreaterThan(4);
  kept.push(name);
});
