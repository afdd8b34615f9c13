import { valueMatrixTest } from './value-matrix.ts';

valueMatrixTest('required', false);
valueMatrixTest('off', false);
