import * as fs from 'node:fs';
import { basename, dirname, extname, join } from 'node:path';
import { codeOf } from '../src/core/thrown.ts';
import type { ConsoleAsset, ConsoleManifest } from '../src/http/console/built.ts';

/**
 * `npm run console` builds `dist/console`, the files of the console that the server serves. `npm run build` and the script `prepare` of an
 * installation also build it, but starting the server never does. The same sources and packages give the same bytes.
 */
const ROOT = join(import.meta.dir, '..');
export const CONSOLE_FOLDER = join(ROOT, 'dist/console');

const TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
  '.png': 'image/png',
};

/** The build does not compress smaller files (bytes). */
const COMPRESSED_MIN = 512;

/** Builds the console into a folder, completely or not at all. Rejects with the errors of the bundler. */
export async function buildConsole(folder = CONSOLE_FOLDER): Promise<ConsoleManifest> {
  // If a source changes during the build, it is newer than the result, so that deploy/install.sh builds again.
  const begun = new Date();
  const built = await Bun.build({
    entrypoints: [join(ROOT, 'src/console/main.tsx')],
    target: 'browser',
    format: 'esm',
    // The editor is a separate file, which the browser loads when an editor opens.
    splitting: true,
    minify: true,
    jsx: { runtime: 'automatic', importSource: 'preact', development: false },
    define: { 'process.env.NODE_ENV': '"production"' },
    naming: { entry: '[name]-[hash].[ext]', chunk: '[name]-[hash].[ext]', asset: '[name]-[hash].[ext]' },
    publicPath: './',
  });
  const outputs = new Map<string, Uint8Array<ArrayBuffer>>();
  for (const file of built.outputs) outputs.set(basename(file.path), new Uint8Array(await file.arrayBuffer()));
  const entryOf = (extension: string) =>
    basename(built.outputs.find(({ path }) => path.endsWith(extension) && basename(path).startsWith('main-'))!.path);
  const { files, put, nameOf } = namedByContent(outputs);
  const read = (file: string) => put(basename(file), new Uint8Array(fs.readFileSync(join(ROOT, file))));
  const manifest: ConsoleManifest = {
    script: nameOf(entryOf('.js')),
    style: nameOf(entryOf('.css')),
    icon: read('src/console/icon.svg'),
    plainStyle: read('src/http/console/pages.css'),
    assets: [...files].map(([name, bytes]) => assetOf(name, bytes)).sort((a, b) => (a.name < b.name ? -1 : 1)),
  };
  write(folder, files, manifest, begun);
  return manifest;
}

/**
 * Names each file by a hash of its text and the texts of all files that it imports, even if files import each other. The names from the
 * bundler depend on the folder in which it runs.
 * @param outputs the files, by the bundler's names
 */
function namedByContent(outputs: ReadonlyMap<string, Uint8Array<ArrayBuffer>>) {
  const files = new Map<string, Uint8Array<ArrayBuffer>>();
  const put = (name: string, bytes: Uint8Array<ArrayBuffer>): string => {
    const extension = extname(name);
    const named = `${basename(name, extension)}-${sha256(bytes).slice(0, 12)}${extension}`;
    files.set(named, bytes);
    return named;
  };
  const texts = new Map<string, string>();
  for (const [output, bytes] of outputs) {
    if (TEXTS.has(extname(output))) texts.set(output, new TextDecoder().decode(bytes));
  }
  // The bundler also writes the hash in a name into other files.
  const hashOf = (output: string): string => output.slice(output.lastIndexOf('-') + 1, output.lastIndexOf('.'));
  const namedIn = (output: string) =>
    [...outputs.keys()].filter((other) => texts.get(output)?.includes(hashOf(other)) === true);
  /** Returns the text of a file with other hashes in it. */
  const renamed = (output: string, newHash: (other: string) => string): Uint8Array<ArrayBuffer> => {
    const text = texts.get(output);
    if (text === undefined) return outputs.get(output)!;
    const named = namedIn(output).reduce((rest, other) => rest.replaceAll(hashOf(other), newHash(other)), text);
    return new TextEncoder().encode(named);
  };
  const bare = new Map([...outputs.keys()].map((output) => [output, sha256(renamed(output, () => ''))]));
  const hashes = new Map<string, string>();
  for (const output of outputs.keys()) {
    const reached = new Set([output]);
    for (const each of reached) for (const other of namedIn(each)) reached.add(other);
    const own = sha256(renamed(output, (other) => bare.get(other)!));
    const all = [own, ...[...reached].map((each) => bare.get(each)!).sort()].join();
    hashes.set(output, sha256(new TextEncoder().encode(all)).slice(0, 12));
  }
  const newHash = (output: string): string => hashes.get(output)!;
  const nameOf = (output: string): string => output.replace(hashOf(output), newHash(output));
  for (const output of outputs.keys()) files.set(nameOf(output), renamed(output, newHash));
  return { files, put, nameOf };
}

/** Only these files can contain names of other files. */
const TEXTS: ReadonlySet<string> = new Set(['.js', '.css']);

const sha256 = (bytes: Uint8Array<ArrayBuffer>): string => new Bun.CryptoHasher('sha256').update(bytes).digest('hex');

function assetOf(name: string, bytes: Uint8Array): ConsoleAsset {
  const type = TYPES[extname(name)];
  if (type === undefined)
    throw new Error(`deploy/console.ts has no content type for ${name}. Add it to the list of types.`);
  const sha256 = new Bun.CryptoHasher('sha256').update(bytes).digest('hex');
  return {
    name,
    type,
    sha256,
    bytes: bytes.length,
    gzip: bytes.length >= COMPRESSED_MIN && extname(name) !== '.woff2',
  };
}

function write(
  folder: string,
  files: ReadonlyMap<string, Uint8Array<ArrayBuffer>>,
  manifest: ConsoleManifest,
  begun: Date,
): void {
  fs.mkdirSync(dirname(folder), { recursive: true });
  const making = fs.mkdtempSync(`${folder}-`);
  try {
    for (const { name, gzip } of manifest.assets) {
      const bytes = files.get(name)!;
      fs.writeFileSync(join(making, name), bytes);
      if (gzip) fs.writeFileSync(join(making, `${name}.gz`), Bun.gzipSync(bytes, { level: 9 }));
    }
    const file = join(making, 'manifest.json');
    fs.writeFileSync(file, `${JSON.stringify(manifest, null, 2)}\n`);
    fs.utimesSync(file, begun, begun);
    fs.chmodSync(making, 0o755);
    replace(folder, making);
  } finally {
    fs.rmSync(making, { recursive: true, force: true });
  }
}

/** Replaces a folder with another. If two processes do this at once, one result remains. */
function replace(folder: string, by: string): void {
  fs.rmSync(folder, { recursive: true, force: true });
  try {
    fs.renameSync(by, folder);
  } catch (cause) {
    const code = codeOf(cause);
    if (code !== 'ENOTEMPTY' && code !== 'EEXIST') throw cause;
  }
}

if (import.meta.main) await buildConsole();
