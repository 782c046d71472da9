import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';

const CONTRACTS = join(import.meta.dir, 'contracts');
/** The file that stores the compiler's output, because compiling takes seconds. */
export const COMPILED = join(import.meta.dir, 'contracts.json');

const Hex = Type.TemplateLiteral([Type.Literal('0x'), Type.String()]);
const Compiled = Type.Record(Type.String(), Type.Object({ bytecode: Hex, deployed: Hex }));
type Compiled = Record<string, { readonly bytecode: `0x${string}`; readonly deployed: `0x${string}` }>;

const Output = Type.Object({
  errors: Type.Optional(Type.Array(Type.Object({ severity: Type.String(), formattedMessage: Type.String() }))),
  contracts: Type.Optional(
    Type.Record(
      Type.String(),
      Type.Record(
        Type.String(),
        Type.Object({
          evm: Type.Object({
            bytecode: Type.Object({ object: Type.String() }),
            deployedBytecode: Type.Object({ object: Type.String() }),
          }),
        }),
      ),
    ),
  ),
});

const textOf = (file: string): string => readFileSync(join(CONTRACTS, file), 'utf8');

/** The hash is stored with the compiler's output, so that a test finds a changed contract without a new compilation. */
export function sourcesHash(): string {
  const hash = new Bun.CryptoHasher('sha256');
  for (const file of readdirSync(CONTRACTS).sort()) hash.update(textOf(file));
  return hash.digest('hex');
}

/** Compiles the contracts. */
export async function compileContracts(): Promise<Compiled> {
  const { default: solc } = await import('solc');
  const files = readdirSync(CONTRACTS).sort();
  const input = {
    language: 'Solidity',
    sources: Object.fromEntries(files.map((file) => [file, { content: textOf(file) }])),
    settings: {
      evmVersion: 'shanghai',
      viaIR: true,
      optimizer: { enabled: true, runs: 200 },
      metadata: { bytecodeHash: 'none' },
      outputSelection: { '*': { '*': ['evm.bytecode.object', 'evm.deployedBytecode.object'] } },
    },
  };
  const output = Value.Parse(Output, JSON.parse(solc.compile(JSON.stringify(input))));
  const wrong = output.errors?.filter(({ severity }) => severity === 'error') ?? [];
  if (wrong.length > 0) throw new Error(wrong.map(({ formattedMessage }) => formattedMessage).join('\n'));
  const all = Object.values(output.contracts ?? {}).flatMap((contracts) => Object.entries(contracts));
  return Object.fromEntries(
    all.map(([name, { evm }]) => [
      name,
      { bytecode: `0x${evm.bytecode.object}`, deployed: `0x${evm.deployedBytecode.object}` } as const,
    ]),
  );
}

/** Returns a stored contract; `test/system/payments/chain-contracts.test.ts` compares its sources. */
export function contract(name: string): Compiled[string] {
  const { sources: _, ...stored } = JSON.parse(readFileSync(COMPILED, 'utf8'));
  const found = Value.Parse(Compiled, stored)[name];
  if (found === undefined) throw new Error(`There is no contract ${name}.`);
  return found;
}

if (import.meta.main) {
  const stored = { ...(await compileContracts()), sources: sourcesHash() };
  await Bun.write(COMPILED, `${JSON.stringify(stored, null, 2)}\n`);
}
