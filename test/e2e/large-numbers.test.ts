import { largeNumbersTest } from './large-numbers.ts';

largeNumbersTest('off', false);
largeNumbersTest('required', false);
