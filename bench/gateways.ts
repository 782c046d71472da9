import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { benchPolicy } from './policy.ts';
import { type Program, startProgram } from './process.ts';

const HERE = import.meta.dir;
const ROOT = join(HERE, '..');

export interface Bench {
  readonly upstream: Program;
  readonly floor: Program;
  readonly signalbox: Program;
  readonly key: string;
  stop(): Promise<void>;
}

/** Starts the upstream, the floor in front of it, and Signalbox in full: key, schema, policy, decision, durable ledger. */
export async function startBench(): Promise<Bench> {
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-bench-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  const bun = process.execPath;
  const upstream = await startProgram([bun, join(HERE, 'upstream.ts')], /^(\d+)\n/);
  const address = `http://127.0.0.1:${upstream.port}/v1`;
  const floor = await startProgram([bun, join(HERE, 'floor.ts'), address], /^(\d+)\n/, {
    BUN_CONFIG_MAX_HTTP_REQUESTS: '65336',
  });
  const key = `sb_live_bench0000000_${Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('base64url')}`;
  writeFileSync(join(folder, 'policy.yaml'), benchPolicy(address));
  const signalbox = await startProgram(
    [join(ROOT, 'src/main.ts'), 'serve', '--port', '0', '--data', join(folder, 'data'), '--policies', folder],
    /127\.0\.0\.1:(\d+)/,
    { SIGNALBOX_API_KEY: key },
  );
  return {
    upstream,
    floor,
    signalbox,
    key,
    async stop() {
      await Promise.all([upstream.stop(), floor.stop(), signalbox.stop()]);
    },
  };
}
