
<
x0Placeholder*
dtype0*
shape:ÿÿÿÿÿÿÿÿÿ
/
x1Placeholder*
dtype0*
shape:

addAddV2x0x1*
T0
"
IdentityIdentityadd*
T0
*
AddNAddNx0x0x0*
N*
T0
%

Identity_1IdentityAddN*
T0

Atan2Atan2x0x1*
T0
&

Identity_2IdentityAtan2*
T0
#
truedivRealDivx0x1*
T0
(

Identity_3Identitytruediv*
T0
%
floordivFloorDivx0x1*
T0
)

Identity_4Identityfloordiv*
T0
#
MaximumMaximumx0x1*
T0
(

Identity_5IdentityMaximum*
T0
#
MinimumMinimumx0x1*
T0
(

Identity_6IdentityMinimum*
T0
 
modFloorModx0x1*
T0
$

Identity_7Identitymod*
T0

mulMulx0x1*
T0
$

Identity_8Identitymul*
T0

Relu_1Relux1*
T0
0
multiply_no_nanMulNoNanx0Relu_1*
T0
0

Identity_9Identitymultiply_no_nan*
T0

ReluRelux1*
T0
)

div_no_nanDivNoNanx0Relu*
T0
,
Identity_10Identity
div_no_nan*
T0

AbsAbsx0*
T0

powPowAbsx1*
T0
%
Identity_11Identitypow*
T0
7
SquaredDifferenceSquaredDifferencex0x1*
T0
3
Identity_12IdentitySquaredDifference*
T0

subSubx0x1*
T0
%
Identity_13Identitysub*
T0
$
Identity_14Identityx0*
T0

Relu_3Relux0*
T0
)
xdivy/XdivyXdivyRelu_3x1*
T0
-
Identity_15Identityxdivy/Xdivy*
T0

Relu_4Relux0*
T0

Abs_2Absx1*
T0
2
xlog1py/Xlog1pyXlog1pyRelu_4Abs_2*
T0
1
Identity_16Identityxlog1py/Xlog1py*
T0

Relu_2Relux0*
T0

Abs_1Absx1*
T0
&
XlogyXlogyRelu_2Abs_1*
T0
'
Identity_17IdentityXlogy*
T0"ð