import { expect, test } from 'bun:test';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { adviceOf } from '../support/answers.ts';
import { startSignalbox, writePolicy } from '../support/signalbox.ts';

const ROOT = join(import.meta.dir, '../..');
const PAGE = readFileSync(join(ROOT, 'docs/plugins.md'), 'utf8');

function block(mark: string): string {
  const found = new RegExp(`^\`\`\`\\w+ ${mark}\\n([\\s\\S]*?)^\`\`\`$`, 'm').exec(PAGE)?.[1];
  if (found === undefined) throw new Error(`docs/plugins.md has no block ${mark}`);
  return found;
}

test('the strategy of docs/plugins.md works as it stands, from a folder of its own', async () => {
  const shipped = ['signalbox.yaml', 'simulated.yaml'].map((name) => [
    name,
    readFileSync(join(ROOT, 'policies', name), 'utf8'),
  ]);
  const text = Object.fromEntries([...shipped, ['thrifty.yaml', block('policy')]]);
  // The shipped baseline is not among the simulated models.
  const folder = writePolicy({ ...text, 'signalbox.yaml': text['signalbox.yaml'].replace(/^baseline:.*$/m, '') });
  mkdirSync(join(folder, 'plugins'));
  writeFileSync(join(folder, 'plugins/thrifty.ts'), block('strategy'));
  const box = await startSignalbox({ args: ['--policies', folder] });
  const advice = await adviceOf(await box.post('/v1/route', { model: 'auto-thrifty' }));
  await box.stop();
  // The cheapest of the simulated models with a quality of 0.75 or more.
  expect(advice).toMatchObject({ recommended_model: 'sim-small', route_reason: 'auto-thrifty:thrift' });
});
