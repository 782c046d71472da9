import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Static, Type } from '@sinclair/typebox';
import { SchemaCheck } from '../../core/schema/check.ts';
import { shippedFolder } from '../../host/program.ts';

const Asset = Type.Object({
  /** The file name with a hash of its content, so the content of a name never changes. */
  name: Type.String(),
  /** The value for `content-type`. */
  type: Type.String(),
  /** The hash in hexadecimal. */
  sha256: Type.String(),
  /** The uncompressed size in bytes. */
  bytes: Type.Integer(),
  /** Whether a compressed copy `NAME.gz` exists. */
  gzip: Type.Boolean(),
});
const Manifest = Type.Object({
  /** Names of the assets that the page loads. */
  script: Type.String(),
  style: Type.String(),
  icon: Type.String(),
  /** The style sheet of pages without a script. */
  plainStyle: Type.String(),
  assets: Type.Array(Asset),
});

/** A file of the built console. */
export type ConsoleAsset = Static<typeof Asset>;
/** The manifest that `deploy/console.ts` writes. */
export type ConsoleManifest = Static<typeof Manifest>;

/** The built console and its folder. */
export interface BuiltConsole extends ConsoleManifest {
  readonly folder: string;
}

const BUILT = shippedFolder('dist/console');

const form = new SchemaCheck(Manifest);

/**
 * Reads the manifest of the built console; null if the console is not built.
 * @throws Error for an invalid manifest
 */
export function readBuiltConsole(folder = BUILT): BuiltConsole | null {
  let text: string;
  try {
    text = readFileSync(join(folder, 'manifest.json'), 'utf8');
  } catch {
    return null;
  }
  const manifest: unknown = JSON.parse(text);
  if (!form.accepts(manifest))
    throw new Error(`${folder}/manifest.json is not a valid manifest of the console. Run npm run console.`);
  return { ...manifest, folder };
}
