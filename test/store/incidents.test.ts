import { INCIDENT_CASES } from './suites/incidents.ts';
import { BOOKS_IN_PROCESS, overBooks } from './tested-books.ts';

overBooks(BOOKS_IN_PROCESS, INCIDENT_CASES);
