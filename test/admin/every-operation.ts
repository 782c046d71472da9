import type { TSchema } from '@sinclair/typebox';
import { Glob } from 'bun';
import type { Operation } from '../../src/admin/kit/operation.ts';
import { isObject } from '../../src/core/object.ts';

const FOLDER = `${import.meta.dir}/../../src/admin`;

const isOperation = (value: unknown): value is Operation => isObject(value) && typeof value.perform === 'function';

/** Every operation that a file of `src/admin` exports, alone or in a list, so that tests of all miss none. */
export async function everyOperation(): Promise<readonly Operation[]> {
  const files = await Array.fromAsync(new Glob('*.ts').scan(FOLDER));
  const modules: object[] = await Promise.all(files.toSorted().map((file) => import(`${FOLDER}/${file}`)));
  return [...new Set(modules.flatMap((all) => Object.values(all).flat()).filter(isOperation))];
}

/** The schema of every answer of the operations, by the name that it has in the API's documentation. */
export const operationAnswers = async (): Promise<ReadonlyMap<string, TSchema>> =>
  new Map(
    (await everyOperation()).flatMap(({ output }) =>
      // A text and a JSON Schema have no name.
      output.title === undefined ? [] : [[output.title, output] as const],
    ),
  );

/** As the OpenAPI document and the matrix of roles name an operation. */
export const documentedName = ({ method, path }: Operation): string => `${method} ${path.replace(':id', '{id}')}`;
