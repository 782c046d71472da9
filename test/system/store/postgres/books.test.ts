import { testLaws } from '../../../store/books-law.ts';
import { ONE_IN_POSTGRES } from '../../../store/postgres/stage.ts';
import { BOOKS_CASES } from '../../../store/suites/books.ts';
import { INCIDENT_CASES } from '../../../store/suites/incidents.ts';
import { overBooks } from '../../../store/tested-books.ts';

/** `test/store/postgres.test.ts` tests two instances. */
overBooks([ONE_IN_POSTGRES], { ...BOOKS_CASES, ...INCIDENT_CASES }, testLaws);
