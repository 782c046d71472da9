import { describe } from 'bun:test';
import { processTimers } from '../../../../src/host/telemetry/process-timers.ts';
import { postgresRepositories } from '../../../../src/store/postgres/repositories.ts';
import { emptyLedger, openBooksOn } from '../../../store/postgres/stage.ts';
import { LEDGER_CASES, type LedgerUnderTest } from '../../../store/suites/ledger.ts';
import { testCases } from '../../../store/support.ts';

async function ledgerInPostgres(): Promise<LedgerUnderTest> {
  const stage = await emptyLedger();
  const { store } = stage;
  const { books, close } = await openBooksOn(stage);
  return {
    ...{ store, books, ...postgresRepositories(store, processTimers) },
    async [Symbol.asyncDispose]() {
      await close();
      await stage[Symbol.asyncDispose]();
    },
  };
}

describe('a ledger in PostgreSQL', () => testCases(LEDGER_CASES, ledgerInPostgres));
