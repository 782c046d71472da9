import type { TSchema } from '@sinclair/typebox';
import { Glob } from 'bun';
import type { Operation } from '../../src/admin/kit/operation.ts';
import { isObject } from '../../src/core/json/object.ts';

const FOLDER = `${import.meta.dir}/../../src/admin`;

const isOperation = (value: unknown): value is Operation => isObject(value) && typeof value.perform === 'function';

/** Returns every operation that a file of `src/admin` exports, alone or in a list, so that tests of all operations miss none. */
export async function everyOperation(): Promise<readonly Operation[]> {
  const files = await Array.fromAsync(new Glob('*.ts').scan(FOLDER));
  const modules: object[] = await Promise.all(files.toSorted().map((file) => import(`${FOLDER}/${file}`)));
  return [...new Set(modules.flatMap((all) => Object.values(all).flat()).filter(isOperation))];
}

/** Returns the schema of every operation's answer, by its name in the OpenAPI document. */
export const operationAnswers = async (): Promise<ReadonlyMap<string, TSchema>> =>
  new Map(
    (await everyOperation()).flatMap(({ output }) =>
      // A text and a JSON Schema have no name.
      output.title === undefined ? [] : [[output.title, output] as const],
    ),
  );

/** Returns an operation's name in the OpenAPI document and in the matrix of roles. */
export const documentedName = ({ method, path }: Operation): string => `${method} ${path.replace(':id', '{id}')}`;
