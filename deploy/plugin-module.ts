import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { PACKAGED_PLUGIN_MODULE } from '../src/host/program.ts';
import { ROOT, run } from './program.ts';

/** The module `signalbox/plugin` of the package: one file of JavaScript, and declarations that need no other package. */

const TYPEBOX = join(ROOT, 'node_modules/@sinclair/typebox/build/esm');
const IMPORTED = /(?<=(?:from |import\()['"])[^'"]+(?=['"])/g;

/** Writes the declarations of the contract and of the modules that it imports. */
function emitDeclarations(out: string): void {
  const project = join(out, 'tsconfig.json');
  const compilerOptions = {
    ...{ noEmit: false, incremental: false, tsBuildInfoFile: null, declaration: true, emitDeclarationOnly: true },
    ...{ rootDir: join(ROOT, 'src'), outDir: out, typeRoots: [join(ROOT, 'node_modules/@types')] },
  };
  const options = {
    extends: join(ROOT, 'tsconfig.json'),
    compilerOptions,
    files: [join(ROOT, 'src/contract/plugin.ts')],
    include: [],
  };
  writeFileSync(project, JSON.stringify(options));
  run(join(ROOT, 'node_modules/.bin/tsc'), '-p', project);
  rmSync(project);
}

/** Copies a declaration of TypeBox and all that it imports, without the rest of TypeBox. */
function copyTypeBox(file: string, to: string, copied = new Set<string>()): void {
  if (copied.has(file)) return;
  copied.add(file);
  const target = join(to, relative(TYPEBOX, file));
  mkdirSync(dirname(target), { recursive: true });
  copyFileSync(file, target);
  for (const [path] of readFileSync(file, 'utf8').matchAll(IMPORTED))
    copyTypeBox(join(dirname(file), path.replace(/\.mjs$/, '.d.mts')), to, copied);
}

/**
 * Builds the module.
 * @param home the folder of the package
 */
export async function buildPluginModule(home: string): Promise<void> {
  const module = join(home, PACKAGED_PLUGIN_MODULE);
  const out = dirname(dirname(module));
  mkdirSync(out, { recursive: true });
  emitDeclarations(out);
  const typebox = join(out, 'typebox');
  copyTypeBox(join(TYPEBOX, 'index.d.mts'), typebox);
  for (const entry of readdirSync(out, { recursive: true, encoding: 'utf8' })) {
    if (!entry.endsWith('.d.ts')) continue;
    const file = join(out, entry);
    const ofTypeBox = relative(dirname(file), join(typebox, 'index.mjs'));
    const text = readFileSync(file, 'utf8').replace(IMPORTED, (path) =>
      path === '@sinclair/typebox' ? ofTypeBox : path.replace(/\.ts$/, '.js'),
    );
    writeFileSync(file, text);
  }
  await Bun.build({
    entrypoints: [join(ROOT, 'src/contract/plugin.ts')],
    outdir: dirname(module),
    target: 'node',
    format: 'esm',
    minify: { syntax: true, whitespace: true },
    // Deno reads the declarations from this comment.
    banner: '// @ts-self-types="./plugin.d.ts"',
  });
}
