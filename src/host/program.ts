import { join, resolve } from 'node:path';

/** The form that the build made of the sources; `deploy/build.ts` and `deploy/package.ts` insert it. Undefined if the sources run unbuilt. */
declare const BUILT_AS: 'binary' | 'package' | undefined;

/** How this program reached the machine: as sources, as one binary, or as a package of npm. */
export type ProgramForm = 'sources' | 'binary' | 'package';
export const PROGRAM_FORM: ProgramForm = typeof BUILT_AS === 'string' ? BUILT_AS : 'sources';

const SOURCES = join(import.meta.dir, '../..');

/**
 * Folders of the sources that the program reads at run time. A build has each of them next to its code, under the last part of its name.
 */
export const SHIPPED_FOLDERS = ['policies', 'src/tools/plugin/templates', 'dist/console', 'docs'] as const;
export type ShippedFolder = (typeof SHIPPED_FOLDERS)[number];

/** Returns the place of a shipped folder on this machine. */
export const shippedFolder = (folder: ShippedFolder): string =>
  PROGRAM_FORM === 'sources' ? join(SOURCES, folder) : join(import.meta.dir, folder.slice(folder.lastIndexOf('/') + 1));

/**
 * Whether a folder is the copy of the shipped policy inside a built program, which users cannot edit. A clone has no such copy: users edit
 * its folder.
 */
export const isBuiltInPolicy = (folder: string): boolean =>
  PROGRAM_FORM !== 'sources' && folder === shippedFolder('policies');

/** The root of the sources; null for a build, which has no sources. */
export const SOURCES_ROOT = PROGRAM_FORM === 'sources' ? SOURCES : null;

/** The name of the package of npm, because another project may have the name `signalbox`. */
export const PACKAGE_NAME = 'signalbox-gateway';

/** The module `signalbox/plugin` in the package. Its declarations are in the same folder. */
export const PACKAGED_PLUGIN_MODULE = 'plugin/contract/plugin.js';

/** The root of the package of npm; null for the other forms. */
export const PACKAGE_ROOT = PROGRAM_FORM === 'package' ? join(import.meta.dir, '..') : null;

/**
 * Returns the address with which `new Worker` starts a worker of this program.
 * @param file the path of the worker's source from the module that starts it, such as `./audit-worker.ts`
 * @param from `import.meta.url` of that module. A build has all workers next to its code; the package has JavaScript files
 */
export const workerAddress = (file: `./${string}-worker.ts`, from: string): string =>
  new URL(PROGRAM_FORM === 'package' ? file.replace(/\.ts$/, '.js') : file, from).href;

/**
 * Returns the path of a file that a module imports `with { type: 'file' }`. The package names it from the folder of its code, which has all of
 * these files; the other forms state a whole path.
 */
export const importedFile = (file: string): string => resolve(import.meta.dir, file);
