<?php
// Prints the variables of the request, as applications read them.
header('Content-Type: application/json');
echo json_encode(array_filter($_SERVER, fn ($name) => str_starts_with($name, 'HTTP_'), ARRAY_FILTER_USE_KEY));
