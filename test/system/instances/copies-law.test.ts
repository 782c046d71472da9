import { isDeep, tries } from '../../deep/effort.ts';
import { LAW, type Lay, overCopies } from '../../instances/copies-law.ts';
import { openHandle, withRepositories } from '../../store/postgres/opened.ts';
import { laidDatabase } from '../../support/shared-postgres.ts';

const layInPostgres: Lay = async () => {
  const { url } = await laidDatabase();
  return async () => {
    const handle = await openHandle(url);
    return { ...withRepositories(handle), query: handle.query.bind(handle) };
  };
};

overCopies('PostgreSQL', layInPostgres, tries(`${LAW}, in PostgreSQL`, 3, 300), isDeep);
