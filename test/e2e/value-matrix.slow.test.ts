import { valueMatrixTest } from './value-matrix.ts';

valueMatrixTest('required', true);
valueMatrixTest('off', true);
