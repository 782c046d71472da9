import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type FileEdit, writeEdit } from '../../../src/policy/runtime/write-edit.ts';

/** Writes an edit, and is killed after one of its steps. `naive` is a mutant that writes file by file. */
interface Order {
  readonly folder: string;
  readonly edits: readonly FileEdit[];
  /** The number of the step, from 1; 0 for none. */
  readonly last: number;
  readonly isNaive: boolean;
}

const { folder, edits, last, isNaive }: Order = JSON.parse(process.argv[2] ?? '');
let steps = 0;
const onStep = () => {
  if (++steps === last) process.kill(process.pid, 'SIGKILL');
};

if (isNaive) {
  for (const { name, after } of edits) {
    writeFileSync(join(folder, name), after ?? '');
    onStep();
  }
} else await writeEdit(folder, edits, onStep);
