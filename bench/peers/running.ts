import { existsSync, readFileSync } from 'node:fs';
import { type Static, Type } from '@sinclair/typebox';
import { TypeCompiler } from '@sinclair/typebox/compiler';

const LOOPBACK = '^http://(127\\.0\\.0\\.1|localhost):\\d+/';

/** A gateway that runs on this machine and calls the benchmark's upstream. */
const RunningGateway = Type.Object(
  {
    name: Type.String({ minLength: 1 }),
    /** The URL at which the gateway serves chat completions. */
    url: Type.String({ pattern: LOOPBACK }),
    key: Type.String(),
    model: Type.String({ minLength: 1 }),
    headers: Type.Optional(Type.Record(Type.String(), Type.String())),
    /**
     * The IDs of the gateway's processes, for example including its database. The benchmark finds the children of these processes
     * automatically.
     */
    pids: Type.Array(Type.Integer({ minimum: 1 }), { minItems: 1 }),
    /** Whether the gateway checks a key and a budget before each call and records the usage. */
    promises: Type.Union([Type.Literal('bare'), Type.Literal('governed')]),
  },
  { additionalProperties: false },
);
export type RunningGateway = Static<typeof RunningGateway>;

const gateways = TypeCompiler.Compile(Type.Array(RunningGateway, { minItems: 1 }));

/**
 * Reads a list of running gateways.
 * @throws Error with the first mistake in the list and the location of the mistake
 */
export function readGateways(file: string): readonly RunningGateway[] {
  const list = parsed(file);
  if (!gateways.Check(list)) {
    const { path, message } = gateways.Errors(list).First() ?? { path: '', message: 'Expected a list of gateways' };
    throw new Error(`${file}: ${path || 'the list'}: ${message}`);
  }
  for (const [at, { pids }] of list.entries()) {
    const gone = pids.find((pid) => !existsSync(`/proc/${pid}`));
    if (gone) throw new Error(`${file}: /${at}/pids: no process ${gone} runs`);
  }
  return list;
}

function parsed(file: string): unknown {
  const text = readFileSync(file, 'utf8');
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new Error(`${file} is not JSON`, { cause });
  }
}
