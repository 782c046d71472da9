import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const FOLDER = join(import.meta.dir, 'language');
const SMALLEST = 'smallest.yaml';
const others = readdirSync(FOLDER).filter((path) => path !== SMALLEST);

/** A valid policy that uses every section of the language, with one file per section. The first file is a policy of its own. */
export const LANGUAGE_POLICY: readonly { readonly path: string; readonly text: string }[] = [SMALLEST, ...others].map(
  (path) => ({ path, text: readFileSync(join(FOLDER, path), 'utf8') }),
);
