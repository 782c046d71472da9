import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Static, Type } from '@sinclair/typebox';
import { SchemaCheck } from '../../core/schema-check.ts';

const Asset = Type.Object({
  /** With a hash of its content: what has the name never changes. */
  name: Type.String(),
  /** Of its content, for `content-type`. */
  type: Type.String(),
  /** Hex. */
  sha256: Type.String(),
  /** Size as it is, bytes. */
  bytes: Type.Integer(),
  /** Whether `NAME.gz` lies beside it. */
  gzip: Type.Boolean(),
});
const Manifest = Type.Object({
  /** Names of assets that the page loads. */
  script: Type.String(),
  style: Type.String(),
  icon: Type.String(),
  /** Of the pages without a script. */
  plainStyle: Type.String(),
  assets: Type.Array(Asset),
});

/** One file of the built console. */
export type ConsoleAsset = Static<typeof Asset>;
/** What `deploy/console.ts` has built. */
export type ConsoleManifest = Static<typeof Manifest>;

/** The built console and its folder. */
export interface BuiltConsole extends ConsoleManifest {
  readonly folder: string;
}

const BUILT = join(import.meta.dir, Bun.isStandaloneExecutable ? 'console' : '../../../dist/console');

const form = new SchemaCheck(Manifest);

/** Reads what was built; null where nothing was. Throws for a manifest that is not one. */
export function readBuiltConsole(folder = BUILT): BuiltConsole | null {
  let text: string;
  try {
    text = readFileSync(join(folder, 'manifest.json'), 'utf8');
  } catch {
    return null;
  }
  const manifest: unknown = JSON.parse(text);
  if (!form.accepts(manifest)) throw new Error(`${folder}/manifest.json is no manifest of the console.`);
  return { ...manifest, folder };
}
