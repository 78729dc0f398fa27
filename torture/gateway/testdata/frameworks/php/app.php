<?php
// The same as index.php, but it routes by PATH_INFO.
$path = $_SERVER['PATH_INFO'] ?? '/';
require 'index.php';
