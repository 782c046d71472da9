import DECIDE from '../books/decide.sql' with { type: 'text' };
import NAMES from '../books/names.sql' with { type: 'text' };
import RECALL from '../books/recall.sql' with { type: 'text' };
import TABLES from '../books/tables.sql' with { type: 'text' };
import { raisedBy } from './access.ts';

/** The ledger: funds, holds and entries. */
export const LEDGER_TABLES = `${TABLES}
${raisedBy('policy', 'terms', 'UPDATE OF rank')}
${raisedBy('budgets', 'budgets', 'INSERT')}
${raisedBy('funds', 'adjustments', 'INSERT')}
${raisedBy('funds', 'funds', 'UPDATE OF is_opened', true, 'WHEN (NEW.is_opened AND NOT OLD.is_opened)')}`;

/** What decides. It takes no texts whose order matters. */
export const LEDGER_FUNCTIONS = NAMES + RECALL + DECIDE;
