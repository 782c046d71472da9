import { faultMatrix } from './matrix.ts';
import { responses } from './surfaces.ts';

faultMatrix('faults-responses', responses, 60);
